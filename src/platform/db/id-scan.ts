/**
 * Rows of a table by ascending id, read in pages. Each page examines a bounded number of rows, whether they match or
 * not.
 */
export interface IdScan {
  /** Only rows with a higher id. */
  after: number;
  /** The highest id. */
  upTo: number;
  /** Maximum number of rows to examine. */
  maxRows: number;
}

export interface ScannedIds {
  /** The rows that match, in ascending order. */
  ids: number[];
  /** The id of the last row that was examined, or `upTo` if there are no more. The next page begins after it. */
  scannedTo: number;
}

/** @param rows all rows that were examined, in ascending order of ids */
export function scanned(rows: readonly { id: number; matches: boolean }[], scan: IdScan): ScannedIds {
  const last = rows.at(-1)?.id;
  return {
    ids: rows.filter(({ matches }) => matches).map(({ id }) => id),
    scannedTo: rows.length < scan.maxRows || last === undefined ? scan.upTo : last,
  };
}
