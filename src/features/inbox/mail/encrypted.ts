/** Finds files that no scanner can look into, because they are encrypted. */

const CFB = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** The name of the stream with the document of an encrypted Office file ([MS-OFFCRYPTO], 2.3.4.4), in UTF-16. */
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le');
const ZIP_ENTRY = Buffer.from('PK\x03\x04', 'latin1');
const ZIP_DIRECTORY_ENTRY = Buffer.from('PK\x01\x02', 'latin1');
const PDF = Buffer.from('%PDF-', 'latin1');
const PDF_ENCRYPT = Buffer.from('/Encrypt', 'latin1');
const PGP_MESSAGE = Buffer.from('-----BEGIN PGP MESSAGE-----', 'latin1');
const RAR4 = Buffer.from('Rar!\x1a\x07\x00', 'latin1');
const RAR5 = Buffer.from('Rar!\x1a\x07\x01\x00', 'latin1');
const SEVEN_ZIP = Buffer.from('7z\xbc\xaf\x27\x1c', 'latin1');

const ENCRYPTED_TYPES = new Set([
  'application/pgp-encrypted',
  'application/pkcs7-mime',
  'application/x-pkcs7-mime',
]);
/** How far into a PDF its header may begin. */
const PDF_LEAD = 1_024;

function startsWith(bytes: Buffer, mark: Buffer): boolean {
  return bytes.subarray(0, mark.length).equals(mark);
}

/** Bit 0 of the flags of an entry says that it is encrypted (APPNOTE, 4.4.4). */
function isEncryptedZip(bytes: Buffer): boolean {
  if (!startsWith(bytes, ZIP_ENTRY)) return false;
  if (((bytes[6] ?? 0) & 1) === 1) return true;
  for (
    let at = bytes.indexOf(ZIP_DIRECTORY_ENTRY);
    at !== -1;
    at = bytes.indexOf(ZIP_DIRECTORY_ENTRY, at + 4)
  ) {
    if (((bytes[at + 8] ?? 0) & 1) === 1) return true;
  }
  return false;
}

/** Archives whose list of files is encrypted. Those with encrypted files only are left to the scanner. */
function isEncryptedArchive(bytes: Buffer): boolean {
  // RAR 4: the flag 0x80 of the archive header; RAR 5: a header of type 4 comes first.
  if (startsWith(bytes, RAR4)) return ((bytes[10] ?? 0) & 0x80) !== 0;
  if (startsWith(bytes, RAR5)) return bytes[13] === 4;
  // 7z: the coder 06f10701 (AES) in the description of the header, at the end of the file.
  return startsWith(bytes, SEVEN_ZIP) && bytes.subarray(-1_024).includes(Buffer.from('06f10701', 'hex'));
}

function isEncryptedPdf(bytes: Buffer): boolean {
  return bytes.subarray(0, PDF_LEAD).includes(PDF) && bytes.includes(PDF_ENCRYPT);
}

/**
 * @param mimeType as the mail says, in lower case
 * @returns `encrypted` if the file, or part of it, is encrypted
 */
export function encryptedKind(mimeType: string, bytes: Buffer): 'encrypted' | null {
  const encrypted =
    ENCRYPTED_TYPES.has(mimeType) ||
    isEncryptedZip(bytes) ||
    isEncryptedPdf(bytes) ||
    isEncryptedArchive(bytes) ||
    (startsWith(bytes, CFB) && bytes.includes(ENCRYPTED_PACKAGE)) ||
    bytes.subarray(0, 4_096).includes(PGP_MESSAGE);
  return encrypted ? 'encrypted' : null;
}
