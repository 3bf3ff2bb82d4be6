/** A problem on this machine that the user at the terminal can solve; `message` is one line that says how. */
export class LocalError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'LocalError';
  }
}

/** Returns the system's code of an error (`EACCES`, `ENOENT` …), or an empty string. */
export function systemCode(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

/** @param setting names the setting that moves the folder */
export function cannotWrite(folder: string, error: unknown, setting = 'CARILLON_HOME'): LocalError {
  return new LocalError(
    `cannot write to ${folder} (${systemCode(error)}): set ${setting} to a folder that you can write to`,
    { cause: error },
  );
}
