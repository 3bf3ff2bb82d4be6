import { condition, defineQuery, defineSignal, log, setHandler } from '@temporalio/workflow';

export const go = defineSignal('go');
export const state = defineQuery<string>('state');

/** Logs a warning, and waits for the signal. The query says whether it waits. */
export async function waits(): Promise<string> {
  let gone = false;
  setHandler(go, () => void (gone = true));
  setHandler(state, () => (gone ? 'gone' : 'waiting'));
  log.warn('waiting');
  await condition(() => gone);
  return 'gone';
}

/** Never ends its turn. */
export function spins(): Promise<void> {
  for (;;);
}
