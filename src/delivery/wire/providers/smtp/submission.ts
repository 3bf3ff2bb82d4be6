import type {
  RequestedReports,
  SmtpConnection,
  SmtpOutcome,
  SmtpSubmission,
  StreamedData,
} from '../../smtp/contract.ts';
import { systemTagsOf } from '../../adapters/email-parts.ts';
import { isLetter, type OutgoingMail, type StreamedMessage } from '../../adapters/port.ts';

/**
 * SMTP has no other place for tags. The header precedes the signature, which does not cover it. Recipients can see it,
 * so it contains Carillon's ids and not the client's tags.
 */
function tagsHeader(email: OutgoingMail): string {
  const tags = systemTagsOf(email).map(([name, value]) => `${name}=${value}`);
  return tags.length === 0 ? '' : `X-Carillon-Tags: ${tags.join('; ')}\r\n`;
}

/** Sends one message over a connection, with its tags in front. Never rejects. */
export function send(
  connection: SmtpConnection,
  email: OutgoingMail,
  kind: RequestedReports,
): Promise<SmtpOutcome> {
  const { built, returnPath, to } = email;
  const { smtpUtf8, eightBit } = built;
  const reports = { kind, envelopeId: email.reference };
  const data = dataOf(email, tagsHeader(email));
  return connection.send({ from: returnPath, to, smtpUtf8, eightBit, data, reports });
}

/** @param tags in ASCII */
function dataOf(email: OutgoingMail, tags: string): SmtpSubmission['data'] {
  if (isLetter(email)) return tags === '' ? email.built : streamedAfter(tags, email.built);
  const { built } = email;
  // The bytes of a text are made when they are read.
  return built.text === undefined ? Buffer.concat([Buffer.from(tags), built.data]) : tags + built.text;
}

function streamedAfter(tags: string, message: StreamedMessage): StreamedData {
  return {
    size: tags.length + message.size,
    ...(message.mayHaveDots && { mayHaveDots: true }),
    async *pieces() {
      yield Buffer.from(tags);
      yield* message.pieces();
    },
  };
}
