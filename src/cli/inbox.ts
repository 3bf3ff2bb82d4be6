import type { ListedInbox } from '../features/inbox/index.ts';
import type { CarillonCommand } from './command.ts';
import { changeAccount, fieldLines, ofAccount, operatorName, print, withDatabase } from './context.ts';
import { id } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const inboxes = () => import('../features/inbox/index.ts');

const ENABLE_HELP = `
Its users and API keys can then create inboxes with POST /v1/my/inboxes. The role mail
must be running (carillon start mail), or mail must come through POST /inbound/<token>.

Example:
  $ carillon inbox enable --account 1`;

const TOKEN_HELP = `
For servers at which port 25 is closed: a mail server or service that you trust posts each
mail, as raw MIME, to the URL. Whoever has the URL can deliver mail to the account.

Example:
  $ carillon inbox token --account 1
  $ curl --data-binary @mail.eml -H 'Content-Type: message/rfc822' \\
      'https://api.example.com/inbound/<token>?from=ann@example.org&to=support@inbox.acme.com'`;

/** `carillon inbox enable | disable | list | token` */
export function addInboxCommands(program: CarillonCommand): void {
  const inbox = program.command('inbox').description('let accounts receive mail');
  inbox
    .command('enable')
    .description('let an account have inboxes')
    .requiredOption('--account <id>', 'the account', id)
    .addHelpText('after', ENABLE_HELP)
    .action((options: AccountOption, command: CarillonCommand) => allow(options, true, command));
  inbox
    .command('disable')
    .description('refuse mail to the inboxes of an account; they and their conversations stay')
    .requiredOption('--account <id>', 'the account', id)
    .action((options: AccountOption, command: CarillonCommand) => allow(options, false, command));
  inbox
    .command('list')
    .description('list inboxes')
    .option('--account <id>', 'only those of this account', id)
    .action(listInboxes);
  inbox
    .command('token')
    .description('print a new URL that takes mail for an account by HTTP; the old one ends')
    .requiredOption('--account <id>', 'the account', id)
    .addHelpText('after', TOKEN_HELP)
    .action(replaceToken);
}

interface AccountOption {
  account: number;
}

async function allow({ account }: AccountOption, allowed: boolean, command: CarillonCommand): Promise<void> {
  await changeAccount(
    command,
    allowed ? 'inbox enable' : 'inbox disable',
    async (trx, { config }) => (await inboxes()).allowInboxes(trx, account, allowed, operatorName(config)),
    () => ofAccount(account),
  );
  const shown = { account_id: account, inboxes: allowed };
  print(
    command,
    shown,
    fieldLines([
      ['account', account],
      ['inboxes', allowed ? 'allowed' : 'not allowed'],
    ]),
  );
}

function stateOf({ allowed, enabled }: ListedInbox): string {
  if (!allowed) return 'the account may not have inboxes';
  return enabled ? 'accepts mail' : 'off';
}

async function listInboxes(options: Partial<AccountOption>, command: CarillonCommand): Promise<void> {
  const found = await withDatabase(command, async ({ database }) =>
    (await inboxes()).listAllInboxes(database.pool, options.account ?? null),
  );
  const lines = found.map(
    (row) => `${row.id}  account ${row.account_id}  brand ${row.brand_id}  ${row.address}  ${stateOf(row)}`,
  );
  print(command, found, lines.length === 0 ? 'no inboxes' : lines.join('\n'));
}

async function replaceToken({ account }: AccountOption, command: CarillonCommand): Promise<void> {
  const { token, url } = await changeAccount(
    command,
    'inbox token',
    async (trx, { config }) => {
      const { replaceInboundToken } = await inboxes();
      const created = await replaceInboundToken(trx, account, operatorName(config));
      const base = config.PUBLIC_URL;
      return { token: created, url: base === undefined ? null : `${base}/inbound/${created}` };
    },
    () => ofAccount(account),
  );
  const fields = fieldLines([
    ['account', account],
    ['token (shown only once)', token],
    ['URL', url ?? `/inbound/${token} at the address of the API (PUBLIC_URL is not set)`],
  ]);
  print(command, { account_id: account, token, url }, fields);
}
