/** A file of which parts are read: its beginning shows its type, and the end of an archive has its directory. */
export interface ByteSource {
  /** Bytes. */
  size: number;
  /**
   * @param start the first byte
   * @param end the byte after the last one
   */
  read(start: number, end: number): Promise<Buffer>;
}

export const bufferSource = (bytes: Buffer): ByteSource => ({
  size: bytes.length,
  read: async (start, end) => bytes.subarray(start, end),
});
