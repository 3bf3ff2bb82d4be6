/** Something on this machine that the reader of the terminal can put right; `message` is one line saying how. */
export class LocalError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'LocalError';
  }
}

/** @returns the system's code of an error (`EACCES`, `ENOENT` …), or an empty string */
export function systemCode(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}
