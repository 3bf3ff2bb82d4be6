import { Argument } from 'commander';
import { accountTiers } from '../delivery/ledger/limits/tiers.ts';
import type { Price, PriceKey } from '../features/wallet/index.ts';
import { inTransaction } from '../platform/db/queryable.ts';
import type { CarillonCommand } from './command.ts';
import { operatorName, print, withDatabase } from './context.ts';
import { countryCode, millicentsOrNone } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const wallets = () => import('../features/wallet/index.ts');

const kinds: PriceKey['kind'][] = ['email', 'sms', 'validation'];

/** `carillon price set | list` */
export function addPriceCommands(program: CarillonCommand): void {
  const price = program.command('price').description('what messages and validations cost, by tier');
  price
    .command('set')
    .description('set a price from now on; what is reserved keeps its price')
    .addArgument(new Argument('<tier>', 'the tier of the accounts').choices(accountTiers))
    .addArgument(
      new Argument(
        '<kind>',
        'email: each above the monthly allowance; sms: each segment; validation: each conclusive result',
      ).choices(kinds),
    )
    .argument('<cents>', 'with up to three decimals, such as 0.125, or "none"', millicentsOrNone)
    .option('--country <code>', 'of the recipients of an SMS, such as DE', countryCode)
    .addHelpText(
      'after',
      '\nOnce a tier has any SMS price, SMS to countries without one are refused.\n\n' +
        'Examples:\n  $ carillon price set paid email 0.05\n  $ carillon price set paid sms 7.5 --country DE',
    )
    .action(setPrice);
  price
    .command('list')
    .description('list all prices')
    .action(async (_options: object, command: CarillonCommand) => {
      const found = await withDatabase(command, async ({ database }) =>
        (await wallets()).listPrices(database.pool),
      );
      print(command, found, textOf(found));
    });
}

async function setPrice(
  tier: PriceKey['tier'],
  kind: PriceKey['kind'],
  millicents: number | null,
  { country }: { country?: string },
  command: CarillonCommand,
): Promise<void> {
  const found = await withDatabase(command, async ({ config, database: { pool } }) => {
    const { setPrice: set, listPrices } = await wallets();
    const key = { tier, kind, country: country ?? null };
    await inTransaction(pool, (trx) => set(trx, key, millicents, operatorName(config)));
    return listPrices(pool);
  });
  print(command, found, textOf(found));
}

function textOf(prices: Price[]): string {
  if (prices.length === 0) return 'No prices are set: everything is free.';
  return prices
    .map(
      ({ tier, kind, country, cents }) => `${tier.padEnd(8)} ${kind.padEnd(11)} ${country ?? '  '}  ${cents}`,
    )
    .join('\n');
}
