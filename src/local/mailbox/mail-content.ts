import PostalMime, { type Attachment } from 'postal-mime';

export interface MailAttachment {
  filename: string;
  contentType: string;
  /** Without angle brackets; null where the part has none. */
  contentId: string | null;
  content: Buffer;
}

/** What a mail program would show of a message. */
export interface MailContent {
  html: string | null;
  text: string | null;
  headers: { name: string; value: string }[];
  attachments: MailAttachment[];
  /** Why the message could not be taken apart; null where it could. */
  problem: string | null;
}

/** Pictures a page may show by a `data:` address; SVG is not among them. */
const pictureTypes = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
]);
/** Elements that make browsers connect ahead although the policy refuses the load. No mail program shows any. */
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

/** Take an email apart. Never throws: what cannot be read has a `problem`. */
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
 * The HTML of a message as the preview frame loads it: pictures it brings along inlined, since the frame may load
 * nothing; nothing that makes a browser connect by itself; and links opening a tab of their own.
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
  // At the end, so that what the message begins with (its doctype above all) stays first.
  return `${harmless}<base target="_blank">`;
}
