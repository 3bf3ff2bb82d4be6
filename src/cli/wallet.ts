import type { Booking, Wallet } from '../features/wallet/index.ts';
import type { CarillonCommand } from './command.ts';
import {
  changeAccount,
  fieldLines,
  ofAccount,
  operatorName,
  print,
  withDatabase,
  type Field,
} from './context.ts';
import { id, positiveMillicents, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const wallets = () => import('../features/wallet/index.ts');

/** `carillon wallet credit | debit | show` */
export function addWalletCommands(program: CarillonCommand): void {
  const wallet = program.command('wallet').description('the funds of accounts');
  addBooking(wallet, 'credit', 'add funds to an account; its held messages are checked again');
  addBooking(wallet, 'debit', 'take funds from an account');
  wallet
    .command('show')
    .description('show the balance of an account and its last entries')
    .argument('<account>', 'the id of the account', id)
    .action(async (accountId: number, _options: object, command: CarillonCommand) => {
      const shown = await withDatabase(command, async ({ database }) =>
        (await wallets()).showWallet(database.pool, accountId),
      );
      print(command, shown, textOf(shown));
    });
}

function addBooking(wallet: CarillonCommand, kind: Booking['kind'], description: string): void {
  wallet
    .command(kind)
    .description(description)
    .argument('<account>', 'the id of the account', id)
    .argument('<cents>', 'with up to three decimals', positiveMillicents)
    .requiredOption(
      '--reference <text>',
      'such as the number of an invoice; an account accepts a reference once, so repeating the command does no harm',
      words,
    )
    .action(
      async (
        accountId: number,
        millicents: number,
        { reference }: { reference: string },
        command: CarillonCommand,
      ) => {
        const shown = await changeAccount(
          command,
          `wallet ${kind}`,
          async (trx, { config }) => {
            const { book } = await wallets();
            return book(trx, { accountId, kind, millicents, reference }, operatorName(config));
          },
          () => ofAccount(accountId),
        );
        print(command, shown, textOf(shown));
      },
    );
}

function textOf(wallet: Wallet): string {
  const fields: Field[] = [
    ['account', wallet.account_id],
    ['balance (cents)', wallet.balance_cents],
    ['sum of the entries', wallet.entries_cents],
    ['not posted yet', wallet.unposted_cents],
    ['reserved for validations', wallet.reserved_cents],
    ['automatic top-ups', wallet.auto_topup ? 'on' : 'off'],
  ];
  const entries = wallet.entries.map(({ created_at: at, kind, amount_cents: cents, reference, month }) =>
    [at, kind.padEnd(10), String(cents).padStart(12), reference ?? month ?? ''].join('  ').trimEnd(),
  );
  return [fieldLines(fields), ...(entries.length > 0 ? [entries.join('\n')] : [])].join('\n\n');
}
