const UNFINISHED: ReadonlySet<string> = new Set(['queued', 'counting', 'processing', 'pending', 'running']);

/** Whether long work, such as an import, is not over: a page that shows it asks again. */
export const isUnfinished = (work: { status: string } | undefined): boolean =>
  work !== undefined && UNFINISHED.has(work.status);
