import type { OperatorMail } from '../delivery/wire/inbound/operator-mails.ts';
import { AppError } from '../errors.ts';
import type { CarillonCommand } from './command.ts';
import { print, withDatabase } from './context.ts';
import { id } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const mails = () => import('../delivery/wire/inbound/operator-mails.ts');

/** `carillon mail list | show` */
export function addMailCommands(program: CarillonCommand): void {
  const mail = program
    .command('mail')
    .description(
      'read mail to fbl@, abuse@ and postmaster@MAIL_DOMAIN, and reports that were not understood',
    );
  mail
    .command('list')
    .description('list the mails of the last 30 days, the newest first')
    .action(listOperatorMails);
  mail.command('show').description('print a mail').argument('<id>', 'the mail', id).action(showOperatorMail);
}

/** Anyone can write these mails, and control characters could steer the terminal. */
function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(/[^\P{C}\n\t]/gu, '�');
}

const placeOf = ({ mailbox, accountId, messageId }: OperatorMail): string =>
  mailbox === 'return_path' ? `message ${messageId} of account ${accountId}` : `${mailbox}@`;

async function listOperatorMails(_options: object, command: CarillonCommand): Promise<void> {
  const found = await withDatabase(command, async ({ database }) =>
    (await mails()).listOperatorMails(database.pool),
  );
  const lines = found.map((mail) =>
    printable(
      `${mail.id}  ${mail.receivedAt.toISOString()}  ${placeOf(mail)}  ${mail.sender}  ${mail.subject}`,
    ),
  );
  print(command, found, lines.length === 0 ? 'no mail' : lines.join('\n'));
}

async function showOperatorMail(mailId: number, _options: object, command: CarillonCommand): Promise<void> {
  const raw = await withDatabase(command, async ({ database }) =>
    (await mails()).readOperatorMail(database.pool, mailId),
  );
  if (raw === null) throw new AppError('not_found', `there is no mail ${mailId}`);
  const text = printable(raw.toString('utf8'));
  print(command, { id: mailId, text }, text);
}
