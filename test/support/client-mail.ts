import { readFileSync } from 'node:fs';

/** The programs whose mails are in `client-mails`. */
export const mailClients = ['gmail', 'outlook', 'apple-mail', 'thunderbird'] as const;
export type MailClient = (typeof mailClients)[number];

export interface ClientMailFields {
  /** An address, with or without a name. */
  from?: string;
  to?: string;
  subject?: string;
  /** Ids are given without angle brackets. */
  messageId?: string;
  inReplyTo?: string;
  references?: string[];
}

/** The mails answer this one unless a test says otherwise. */
export const answeredId = '1042.8f14e45f@carillon.example';

/** Message-IDs as each program makes them. */
const messageIds: Record<MailClient, string> = {
  gmail: 'CAJ8s+Qf2m3w=7kR9xT4vL1pYb6nZc0dHgE5uWoSi@mail.gmail.com',
  outlook: 'AM0PR04MB1234A1B2C3D4E5F607182939@AM0PR04MB1234.eurprd04.prod.outlook.com',
  'apple-mail': 'A7D2F6B1-93C4-4E58-8A0F-6B5C4D3E2F10@icloud.com',
  thunderbird: '3f0e9c52-8b1d-4a7e-b6c5-d4e3f2a1b0c9@example.com',
};

function addressIn(mailbox: string): string {
  return /<([^>]*)>/.exec(mailbox)?.[1] ?? mailbox;
}

/**
 * Returns an answer as a mail program writes it, ready for SMTP.
 * @param fields what differs from the defaults
 */
export function clientMail(client: MailClient, fields: ClientMailFields = {}): Buffer {
  const { from = 'Ada Lovelace <ada@example.com>', to = 'Example Shop <support@inbox.example.org>' } = fields;
  const inReplyTo = fields.inReplyTo ?? answeredId;
  const values: Record<string, string> = {
    from,
    from_address: addressIn(from),
    to,
    to_address: addressIn(to),
    subject: fields.subject ?? 'Re: Your order 1042',
    message_id: `<${fields.messageId ?? messageIds[client]}>`,
    in_reply_to: `<${inReplyTo}>`,
    references: (fields.references ?? [inReplyTo]).map((id) => `<${id}>`).join(' '),
  };
  const template = readFileSync(new URL(`./client-mails/${client}.eml`, import.meta.url), 'utf8');
  const text = template.replace(/\{\{(\w+)\}\}/g, (_mark, name: string) => values[name] ?? '');
  return Buffer.from(text.replace(/\r?\n/g, '\r\n'));
}
