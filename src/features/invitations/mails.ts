import type { Notice } from '../system-mail/service.ts';

export interface InvitationMail {
  /** Address of the user who invites. */
  inviter: string;
  accountName: string | null;
  role: string;
  /** The service, without a trailing slash; an existing user signs in at its console. */
  publicUrl: string;
  /** The link with the token; null: the address has a user. */
  link: string | null;
  expiresAt: Date;
}

const MAX_NAME = 80;
/**
 * What mail programs turn into a link, such as `evil.test`; a dot before a space or at the end is none. Customers choose
 * the name, and must not put links into our mail.
 */
const LINK_LIKE = /[/\\@:]|[.\u3002\uff0e\uff61](?=\S)/;

function shownName(name: string | null): string {
  if (name === null || name.trim() === '' || LINK_LIKE.test(name)) return 'an account';
  return `“${name.trim().slice(0, MAX_NAME)}”`;
}

export function invitationNotice(mail: InvitationMail): Notice {
  const { inviter, role, link, publicUrl } = mail;
  const until = mail.expiresAt.toISOString().slice(0, 10);
  const how =
    link === null
      ? `You have a sign-in already: sign in at ${publicUrl}/console and accept the invitation there, until ${until}.`
      : `To accept, open this link and choose a password, until ${until}. It works once:\n${link}`;
  return {
    subject: 'You are invited',
    paragraphs: [
      `${inviter} invites you to ${shownName(mail.accountName)} as ${role}.`,
      how,
      'If you do not know the sender, ignore this mail. Nothing happens without you.',
    ],
  };
}
