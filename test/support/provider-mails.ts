/**
 * What the services that build messages from their parts take, as their documentation says. A reader throws if a
 * request has anything that the service would refuse or ignore.
 */
import { z } from 'zod';

/** A file as a service gets it. */
export interface SentFile {
  filename: string;
  type: string;
  content: string;
  /** How the HTML names it; null: it is an attachment. */
  inline: string | null;
}

/** A message as a service gets it. */
export interface SentMail {
  to: string[];
  replyTo: string[];
  html: string | null;
  text: string;
  files: SentFile[];
  /** Versions of the body beside text and HTML. */
  others: { type: string; value: string }[];
}

const base64 = z.base64().min(1);
const address = z.strictObject({ email: z.email(), name: z.string().optional() });

/** https://www.twilio.com/docs/sendgrid/api-reference/mail-send/errors: `;` and `,` would end them. */
const unbroken = z.string().regex(/^[^;,\r\n]+$/);

const sendgridMail = z.strictObject({
  personalizations: z.tuple([
    z.strictObject({ to: z.array(address), custom_args: z.record(z.string(), z.string()) }),
  ]),
  from: address,
  reply_to: address.optional(),
  reply_to_list: z.array(address).min(1).optional(),
  subject: z.string().min(1),
  content: z
    .array(z.strictObject({ type: z.string().regex(/^[^,\r\n]+$/), value: z.string().min(1) }))
    .min(1),
  attachments: z
    .array(
      z.strictObject({
        content: base64,
        filename: unbroken,
        type: unbroken,
        disposition: z.enum(['attachment', 'inline']),
        content_id: unbroken.optional(),
      }),
    )
    .min(1)
    .optional(),
  headers: z.record(z.string(), z.string()),
  tracking_settings: z.object(),
  mail_settings: z.object(),
});

/** https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send */
export function readSendgridMail(body: string): SentMail {
  const mail = sendgridMail.parse(JSON.parse(body));
  if (mail.reply_to && mail.reply_to_list) throw new Error('reply_to_list cannot be used with reply_to');
  const replies = mail.reply_to ? [mail.reply_to] : (mail.reply_to_list ?? []);
  const valueOf = (type: string) => mail.content.find((part) => part.type === type)?.value;
  const types = mail.content.map(({ type }) => type);
  const order = ['text/plain', 'text/html'].filter((type) => types.includes(type));
  if (types.slice(0, order.length).join() !== order.join()) throw new Error('the order of content is wrong');
  return {
    to: mail.personalizations[0].to.map(({ email }) => email),
    replyTo: replies.map(({ email }) => email),
    html: valueOf('text/html') ?? null,
    text: valueOf('text/plain') ?? '',
    files: (mail.attachments ?? []).map(({ filename, type, content, disposition, content_id: id }) => ({
      ...{ filename, type, content },
      inline: disposition === 'inline' ? (id ?? '') : null,
    })),
    others: mail.content.slice(order.length),
  };
}

const postmarkMail = z.strictObject({
  From: z.string(),
  To: z.string(),
  ReplyTo: z.string().optional(),
  Subject: z.string(),
  HtmlBody: z.string().optional(),
  TextBody: z.string().min(1).optional(),
  Tag: z.string().optional(),
  Metadata: z.record(z.string(), z.string()),
  Headers: z.array(z.strictObject({ Name: z.string(), Value: z.string() })),
  TrackOpens: z.literal(false),
  TrackLinks: z.literal('None'),
  MessageStream: z.string(),
  Attachments: z
    .array(
      z.strictObject({
        Name: z.string().min(1),
        Content: base64,
        ContentType: z.string().regex(/^[\w.+-]+\/[\w.+-]+(?:; [\w-]+=[\w."-]+)*$/),
        ContentID: z
          .string()
          .regex(/^cid:[!-~]+$/)
          .optional(),
      }),
    )
    .min(1)
    .optional(),
});

/** https://postmarkapp.com/developer/api/email-api#send-batch-emails, with one message */
export function readPostmarkMail(body: string): SentMail {
  const [mail] = z.tuple([postmarkMail]).parse(JSON.parse(body));
  return {
    to: mail.To.split(', '),
    replyTo: mail.ReplyTo?.split(', ') ?? [],
    html: mail.HtmlBody ?? null,
    text: mail.TextBody ?? '',
    files: (mail.Attachments ?? []).map((file) => ({
      ...{ filename: file.Name, type: file.ContentType, content: file.Content },
      inline: file.ContentID?.slice('cid:'.length) ?? null,
    })),
    others: [],
  };
}

const resendMail = z.strictObject({
  from: z.string(),
  to: z.array(z.email()).min(1).max(50),
  subject: z.string(),
  reply_to: z.array(z.string()).min(1).optional(),
  html: z.string().optional(),
  text: z.string(),
  headers: z.record(z.string(), z.string()),
  tags: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  attachments: z
    .array(
      z.strictObject({
        filename: z.string().min(1),
        content: base64,
        content_type: z.string().min(1),
        content_id: z.string().max(127).optional(),
      }),
    )
    .min(1)
    .optional(),
});

/** https://resend.com/docs/api-reference/emails/send-email */
export function readResendMail(body: string): SentMail {
  const mail = resendMail.parse(JSON.parse(body));
  return {
    to: mail.to,
    replyTo: mail.reply_to ?? [],
    html: mail.html ?? null,
    text: mail.text,
    files: (mail.attachments ?? []).map((file) => ({
      ...{ filename: file.filename, type: file.content_type, content: file.content },
      inline: file.content_id ?? null,
    })),
    others: [],
  };
}
