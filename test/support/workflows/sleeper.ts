import { sleep } from '@temporalio/workflow';

/** @returns how long the workflow's clock says that it slept, in milliseconds */
export async function sleeper(duration: string): Promise<number> {
  const began = Date.now();
  await sleep(duration);
  return Date.now() - began;
}
