/** Builds a zip file without compression; only what readers of its directory look at is filled in. */
export function zipOf(names: readonly string[], { comment = '', zip64 = false, before = '' } = {}): Buffer {
  const locals: Buffer[] = [Buffer.from(before, 'latin1')];
  const entries: Buffer[] = [];
  for (const name of names) {
    const local = Buffer.alloc(30);
    local.write('PK\x03\x04', 'latin1');
    local.writeUInt16LE(Buffer.byteLength(name), 26);
    locals.push(local, Buffer.from(name));
    const entry = Buffer.alloc(46);
    entry.write('PK\x01\x02', 'latin1');
    entry.writeUInt16LE(Buffer.byteLength(name), 28);
    entries.push(entry, Buffer.from(name));
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(names.length, 10);
  end.writeUInt32LE(zip64 ? 0xffffffff : directory.length, 12);
  end.writeUInt16LE(Buffer.byteLength(comment), 20);
  const large: Buffer[] = [];
  if (zip64) {
    const record = Buffer.alloc(56);
    record.write('PK\x06\x06', 'latin1');
    record.writeBigUInt64LE(BigInt(directory.length), 40);
    const locator = Buffer.alloc(20);
    locator.write('PK\x06\x07', 'latin1');
    large.push(record, locator);
  }
  return Buffer.concat([...locals, directory, ...large, end, Buffer.from(comment)]);
}
