import { LocalError } from '../local/machine/local-error.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import type { CarillonCommand } from './command.ts';
import { print, requireKeyring, withDatabase } from './context.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const columns = () => import('../platform/secrets/sealed-columns.ts');
const upkeeps = async () => (await import('../features/upkeep.ts')).upkeep;

const RESEAL_HELP = `
Run it when every process has the new APP_SECRET, with the former one in APP_SECRET_PREVIOUS. It may run beside them.
Afterwards, no stored value needs the former secret. Links and addresses in mail that was sent still do.`;

/** `carillon secret list | reseal` */
export function addSecretCommands(program: CarillonCommand): void {
  const secret = program
    .command('secret')
    .description('show and change which APP_SECRET seals what is stored');
  secret.command('list').description('count the sealed values of each secret').action(listSecrets);
  secret
    .command('reseal')
    .description('seal with APP_SECRET what the previous secrets have sealed')
    .addHelpText('after', RESEAL_HELP)
    .action(resealAll);
}

/** The setting in which a secret is, by its id. */
function settingsOf(keyring: Keyring): Map<string, string> {
  const [current, ...previous] = keyring.accepted('at-rest').map(({ id }) => id);
  const names = new Map(previous.map((id) => [id, 'APP_SECRET_PREVIOUS']));
  return current === undefined ? names : names.set(current, 'APP_SECRET');
}

async function listSecrets(_options: object, command: CarillonCommand): Promise<void> {
  const { countSealed } = await columns();
  const { sealed } = await upkeeps();
  await withDatabase(command, async (context) => {
    const settings = settingsOf(requireKeyring(context));
    const counts = await countSealed(context.database.pool, sealed);
    const found = counts.map((each) => ({ ...each, setting: settings.get(each.secret) ?? null }));
    const lines = found.map(
      ({ secret, setting, table, column, count }) =>
        `${secret}  ${(setting ?? 'not set').padEnd('APP_SECRET_PREVIOUS'.length)}  ${table}.${column}  ${count}`,
    );
    print(command, found, lines.length === 0 ? 'no sealed values' : lines.join('\n'));
  });
}

async function resealAll(_options: object, command: CarillonCommand): Promise<void> {
  const { reseal } = await columns();
  const { openKeyring } = await import('../platform/secrets/stored-keys.ts');
  const upkeep = await upkeeps();
  await withDatabase(command, async ({ config, database: { pool } }) => {
    const keyring = await openKeyring(pool, config, upkeep);
    const results = await reseal(pool, keyring, upkeep.sealed);
    const lines = results.flatMap(({ table, column, resealed, unopened }) => [
      `${table}.${column}  ${resealed} sealed again`,
      ...unopened.map((line) => `  ${line}`),
    ]);
    print(command, results, lines.join('\n'));
    const left = results.reduce((sum, { unopened }) => sum + unopened.length, 0);
    if (left === 0) return;
    throw new LocalError(
      `${left} sealed ${left === 1 ? 'value' : 'values'} cannot be opened with these secrets: set each again, or add its secret to APP_SECRET_PREVIOUS and repeat this`,
    );
  });
}
