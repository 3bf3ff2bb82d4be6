import type { SmsSenderRow } from '../features/sms/service.ts';
import type { Queryable } from '../platform/db/queryable.ts';
import type { CarillonCommand } from './command.ts';
import { changeAccount, fieldLines, ofRow, print, withDatabase, type Field } from './context.ts';
import { id, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const senders = () => import('../features/sms/service.ts');

const ADD_HELP = `
The sender is one of:
  a number           +14155550123
  a short code       12345
  a name             Acme, at most 11 characters; recipients cannot reply
  a pool of numbers  MG…, the id of a Twilio Messaging Service

Example:
  $ carillon sms-sender add --brand 1 --provider twilio-us --from +14155550123 \\
      --help-text "Acme: call +1 415 555 0100 or write to help@acme.com. Reply STOP to unsubscribe."`;

/** `carillon sms-sender add | list | remove` */
export function addSmsSenderCommands(program: CarillonCommand): void {
  const sender = program.command('sms-sender').description('choose what the SMS of a brand are sent as');
  sender
    .command('add')
    .description('give a brand its sender; takes effect within a second')
    .requiredOption('--brand <id>', 'the brand', id)
    .requiredOption('--from <sender>', 'the number or name that recipients see', words)
    .option(
      '--provider <name>',
      'the provider that has the number; by default that of SMS_PROVIDER_URL',
      words,
    )
    .option(
      '--stop-words <words>',
      'words that mean STOP, in addition to the usual ones, separated by commas',
      words,
    )
    .option('--help-text <text>', 'the reply to HELP and INFO, unless the provider replies itself', words)
    .addHelpText('after', ADD_HELP)
    .action(add);
  sender
    .command('list')
    .description('list the senders')
    .option('--brand <id>', 'only that of this brand', id)
    .action(listSenders);
  sender
    .command('remove')
    .description("remove a brand's sender; its SMS go through SMS_PROVIDER_URL again")
    .requiredOption('--brand <id>', 'the brand', id)
    .action(removeSender);
}

interface AddOptions {
  brand: number;
  from: string;
  provider?: string;
  stopWords?: string;
  helpText?: string;
}

async function add(options: AddOptions, command: CarillonCommand): Promise<void> {
  const added = await changeAccount(
    command,
    'sms-sender add',
    async (trx) =>
      (await senders()).addSmsSender(trx, {
        brandId: options.brand,
        from: options.from,
        provider: options.provider ?? null,
        keywords: options.stopWords ?? null,
        helpText: options.helpText ?? null,
      }),
    ofRow,
  );
  print(command, added, fieldLines(describe(added)));
}

async function listSenders(options: { brand?: number }, command: CarillonCommand): Promise<void> {
  const found = await withDatabase(command, async ({ database }) =>
    (await senders()).listSmsSenders(database.pool, options.brand ?? null),
  );
  const lines = found.map(
    (row) => `brand ${row.brand_id}  ${row.sender}  ${row.provider ?? 'SMS_PROVIDER_URL'}`,
  );
  print(command, found, lines.length === 0 ? 'no SMS senders' : lines.join('\n'));
}

async function removeSender(options: { brand: number }, command: CarillonCommand): Promise<void> {
  const remove = async (trx: Queryable) => (await senders()).removeSmsSender(trx, options.brand);
  const removed = await changeAccount(command, 'sms-sender remove', remove, ofRow);
  print(command, removed, fieldLines(describe(removed)));
}

function describe(row: SmsSenderRow): Field[] {
  return [
    ['brand', row.brand_id],
    ['sender', row.sender],
    ['provider', row.provider ?? 'the one of SMS_PROVIDER_URL'],
    ['replies', row.takes_replies ? 'STOP, START and HELP are read' : 'recipients cannot reply to a name'],
    ['stop words', row.keywords],
    ['help text', row.help_text],
  ];
}
