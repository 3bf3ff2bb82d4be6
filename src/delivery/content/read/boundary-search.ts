/** Finds the boundary of a multipart body, also if the header names none, or a wrong one. */

/** A line that can only be the delimiter of a multipart body whose boundary is missing or wrong. */
const DELIMITER = /^--(\S(?:.{0,68}\S)?)[ \t]*\r?\ncontent-[a-z-]+[ \t]*:/i;
const DELIMITER_BYTES = 200;
/** Limits of the search for boundaries that are not where they should be. */
const MAX_CANDIDATES = 1_000;
const MAX_SEARCHED_BYTES = 256 * 1024 * 1024;

export class BoundarySearch {
  readonly #bytes: Buffer;
  #searchedBytes = 0;
  #candidates = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /**
   * @param start where the body begins
   * @param named the boundary in the header, one character for each byte; empty: none
   * @param around the boundaries of the bodies around it
   * @returns the named boundary or, if the body does not have it, the one that its first part shows
   */
  boundaryIn(start: number, named: string, around: readonly Buffer[]): string {
    if (named !== '' && this.#find(`--${named}`, start) !== -1) return named;
    const shown = this.#shownBoundary(start);
    const isOuter = around.some((boundary) => boundary.toString('latin1') === shown);
    return shown === null || isOuter ? named : shown;
  }

  #shownBoundary(start: number): string | null {
    for (let at = start; at !== 0 && this.#candidates < MAX_CANDIDATES; at = this.#find('\n--', at) + 1) {
      this.#candidates += 1;
      const shown = DELIMITER.exec(this.#bytes.toString('latin1', at, at + DELIMITER_BYTES))?.[1];
      if (shown !== undefined) return shown;
    }
    return null;
  }

  /** @returns where a text is; -1 if there is none; `start` if the mail has been searched too often */
  #find(text: string, start: number): number {
    if (this.#searchedBytes > MAX_SEARCHED_BYTES) return start;
    const at = this.#bytes.indexOf(text, start, 'latin1');
    this.#searchedBytes += (at === -1 ? this.#bytes.length : at) - start;
    return at;
  }
}
