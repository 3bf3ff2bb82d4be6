import { sleep } from '@temporalio/workflow';

/** Sleeps, and returns how long by the workflow's clock, in milliseconds. */
export async function sleeper(duration: string): Promise<number> {
  const began = Date.now();
  await sleep(duration);
  return Date.now() - began;
}
