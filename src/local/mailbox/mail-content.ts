import PostalMime, { type Attachment } from 'postal-mime';

export interface MailAttachment {
  filename: string;
  contentType: string;
  /** Without angle brackets; null if the part has none. */
  contentId: string | null;
  content: Buffer;
}

/** The parts of a message that a mail program would show. */
export interface MailContent {
  html: string | null;
  text: string | null;
  headers: { name: string; value: string }[];
  attachments: MailAttachment[];
  /** Why the message could not be parsed; null if it could. */
  problem: string | null;
}

/** Images that a page may show by a `data:` URL. SVG is not among them, since it may contain scripts. */
const pictureTypes = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
]);
/** Elements that make browsers open connections even though the policy forbids the load. No mail program shows them. */
const connectsAhead = /<(?=(?:link|iframe|frame|object|embed)\b)/gi;
const contentIdReference = /cid:([^\s"'<>()]+)/gi;

function attachment(part: Attachment, index: number): MailAttachment {
  const { content } = part;
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as Uint8Array);
  return {
    filename: part.filename || `attachment-${index + 1}`,
    contentType: part.mimeType || 'application/octet-stream',
    contentId: part.contentId?.replace(/^<|>$/g, '') ?? null,
    content: bytes,
  };
}

/** Parses an email. Never throws: an unreadable email has a `problem`. */
export async function readMail(raw: Buffer): Promise<MailContent> {
  try {
    const mail = await PostalMime.parse(raw);
    return {
      html: mail.html ?? null,
      text: mail.text ?? null,
      headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
      attachments: mail.attachments.map(attachment),
      problem: null,
    };
  } catch (error) {
    return { html: null, text: null, headers: [], attachments: [], problem: (error as Error).message };
  }
}

function decodedContentId(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

/**
 * The HTML of a message for the preview frame. Its attached images are inlined, since the frame may load nothing;
 * elements that make a browser open connections are disabled; and links open in a new tab.
 */
export function previewHtml(content: MailContent): string {
  const pictures = new Map(
    content.attachments
      .filter((part) => part.contentId !== null && pictureTypes.has(part.contentType))
      .map((part) => [part.contentId, part]),
  );
  const html = (content.html ?? '').replace(contentIdReference, (whole, reference: string) => {
    const picture = pictures.get(decodedContentId(reference));
    return picture ? `data:${picture.contentType};base64,${picture.content.toString('base64')}` : whole;
  });
  const harmless = html.replace(connectsAhead, '<no-');
  // Appended, so that the doctype of the message stays first.
  return `${harmless}<base target="_blank">`;
}
