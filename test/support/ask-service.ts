/**
 * Asks the run's services (`global-setup.ts`) for one of them. The first request starts it.
 * @param name a key of the services there, such as `database` or `engine`
 * @param argument what to do with it, for services with more than one function
 * @throws Error with the reason if it cannot be started
 */
export async function askService<Answer>(name: string, argument?: string): Promise<Answer> {
  const address = process.env.CARILLON_TEST_SERVICES;
  if (!address) throw new Error('CARILLON_TEST_SERVICES is not set: run the tests through Jest');
  const query = argument === undefined ? '' : `?argument=${encodeURIComponent(argument)}`;
  // A test that computes for seconds does not notice that the server has closed an idle connection.
  const response = await fetch(`${address}/${name}${query}`, { headers: { connection: 'close' } });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as Answer;
}
