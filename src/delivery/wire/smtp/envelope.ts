import { SmtpInputError } from './connection-error.ts';
import type { SmtpCapabilities, SmtpOutcome, SmtpSubmission, StreamedData } from './contract.ts';
import { isStreamed, scanData } from './message-data.ts';

/** Printable ASCII except space, quote, backslash and angle brackets. Such an address needs no further check. */
const PLAIN_ADDRESS = /^[!#-;=?-[\]-~]*$/;
/** The same, and quoted strings, in which a backslash escapes one character, and non-ASCII characters. */
const QUOTED_ADDRESS = /^(?:[!#-;=?-[\]-~\x80-\uffff]|"(?:[ !#-[\]-~\x80-\uffff]|\\[ -~])*")*$/;
const NON_ASCII = /[^\x00-\x7f]/;
/** C1 controls, and separators that some software takes for line ends. */
const INVISIBLE = /[\x80-\x9f\u2028\u2029]/;
/** The characters that xtext (RFC 3461 §4) does not encode. An ENVID has at most 100. */
const PLAIN_ENVELOPE_ID = /^[!-*,-<>-~]{1,100}$/;
/** RFC 5321 §4.5.3.1.3, brackets excluded. */
const MAX_ADDRESS_BYTES = 254;

const CHECKED = { dots: 0, bareAt: -1 };

/** The commands and the data of a submission. */
export interface Envelope {
  mail: string;
  rcpt: string;
  data: Uint8Array | string | StreamedData;
  /** Number of lines of `data` that need a second dot. */
  dots: number;
}

const sizeOf = (data: SmtpSubmission['data']): number => (isStreamed(data) ? data.size : data.length);

/**
 * Creates the commands of a submission. Parameters are used only if needed. An address cannot break out of its command.
 * @returns the envelope, or the outcome if the submission cannot be sent over a connection with these capabilities
 */
export function createEnvelope(
  submission: SmtpSubmission,
  offered: SmtpCapabilities,
): Envelope | SmtpOutcome {
  const { from, to, smtpUtf8, data } = submission;
  const scan = data instanceof Uint8Array ? scanData(data) : CHECKED;
  const problem =
    addressProblem('sender', from, smtpUtf8) ??
    (to === '' ? 'the recipient is empty' : addressProblem('recipient', to, smtpUtf8)) ??
    (scan.bareAt === -1 ? null : `the message has a bare CR or LF at offset ${scan.bareAt}`);
  if (problem) return { kind: 'not_sent', error: new SmtpInputError('mail', problem) };
  const missing = missingCapability(submission, offered);
  if (missing) return missing;
  const size = offered.size === null ? '' : ` SIZE=${sizeOf(data)}`;
  const body = submission.eightBit ? ' BODY=8BITMIME' : '';
  const utf8 = smtpUtf8 ? ' SMTPUTF8' : '';
  const { mail, rcpt } = reportParameters(submission, offered);
  return {
    mail: `MAIL FROM:<${from}>${size}${body}${utf8}${mail}\r\n`,
    rcpt: `RCPT TO:<${to}>${rcpt}\r\n`,
    data,
    dots: scan.dots,
  };
}

/** The parameters of RFC 3461. Without NOTIFY, servers also report delays and may return the complete message. */
function reportParameters(
  { reports }: SmtpSubmission,
  { dsn }: SmtpCapabilities,
): { mail: string; rcpt: string } {
  if (!dsn || !reports || reports.kind === 'off') return { mail: '', rcpt: '' };
  const id = PLAIN_ENVELOPE_ID.test(reports.envelopeId) ? ` ENVID=${reports.envelopeId}` : '';
  const notify = reports.kind === 'success' ? 'SUCCESS,FAILURE' : 'FAILURE';
  return { mail: ` RET=HDRS${id}`, rcpt: ` NOTIFY=${notify}` };
}

function addressProblem(which: string, address: string, smtpUtf8: boolean): string | null {
  if (address.length <= MAX_ADDRESS_BYTES && PLAIN_ADDRESS.test(address)) return null;
  if (Buffer.byteLength(address) > MAX_ADDRESS_BYTES)
    return `the ${which} is longer than ${MAX_ADDRESS_BYTES} bytes`;
  if (!QUOTED_ADDRESS.test(address) || INVISIBLE.test(address)) {
    return `the ${which} has characters that are not allowed in an address`;
  }
  if (!smtpUtf8 && NON_ASCII.test(address)) return `the ${which} is not ASCII, which needs SMTPUTF8`;
  return null;
}

function missingCapability(submission: SmtpSubmission, offered: SmtpCapabilities): SmtpOutcome | null {
  if (submission.smtpUtf8 && !offered.smtpUtf8)
    return unsupported('smtputf8', 'the server does not offer SMTPUTF8');
  if ((submission.smtpUtf8 || submission.eightBit) && !offered.eightBitMime) {
    return unsupported('8bitmime', 'the server does not offer 8BITMIME');
  }
  const limit = offered.size ?? 0;
  const size = sizeOf(submission.data);
  if (limit > 0 && size > limit) {
    return unsupported('size', `the message has ${size} bytes, but the server accepts at most ${limit}`);
  }
  return null;
}

function unsupported(capability: 'smtputf8' | '8bitmime' | 'size', message: string): SmtpOutcome {
  return { kind: 'unsupported', capability, message };
}
