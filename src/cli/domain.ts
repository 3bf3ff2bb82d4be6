import { Argument } from 'commander';
import type { Config } from '../config.ts';
import type { Queryable } from '../platform/db/queryable.ts';
import type { CarillonCommand } from './command.ts';
import {
  changeAccount,
  fieldLines,
  print,
  withDatabase,
  type CommandContext,
  type Field,
} from './context.ts';
import { pace, words } from './values.ts';

/** Imported on first use: this program also starts the roles, which need no commands. */
const warmUps = () => import('../features/domains/service.ts');

const WARM_UP_HELP = `
A domain that warms up sends at most the volume of its day in WARM_UP_SCHEDULE. Campaigns and flows
wait for the next day; transactional messages count, and never wait.

Example:
  $ carillon domain warmup news.acme.com on`;

const PACE_HELP = `
Examples:
  $ carillon domain pace news.acme.com 600
  $ carillon domain pace news.acme.com off         as fast as the provider accepts
  $ carillon domain pace news.acme.com default     the setting PACING_PER_MINUTE`;

/** `carillon domain warmup | pace` */
export function addDomainCommands(program: CarillonCommand): void {
  const domain = program.command('domain').description('choose how fast a verified sending domain sends');
  domain
    .command('warmup')
    .description('begin, end or show the warm-up of a new domain')
    .argument('<domain>', 'the name of the domain', words)
    .addArgument(new Argument('<action>').choices(['on', 'off', 'show']))
    .addHelpText('after', WARM_UP_HELP)
    .action(warmUp);
  domain
    .command('pace')
    .description('limit how many emails of a domain are sent in a minute')
    .argument('<domain>', 'the name of the domain', words)
    .argument('<count>', 'a number, off or default', pace)
    .addHelpText('after', PACE_HELP)
    .action(setPace);
}

/** Changes a verified domain, and records it in the audit log of its account. @returns what `change` returns */
async function changeDomain<T>(
  command: CarillonCommand,
  name: string,
  action: string,
  change: (trx: Queryable, domainId: number, context: CommandContext) => Promise<T>,
): Promise<T> {
  const { findVerifiedDomain } = await warmUps();
  const work = async (trx: Queryable, context: CommandContext) => {
    const domain = await findVerifiedDomain(trx, name);
    return { domain, result: await change(trx, domain.id, context) };
  };
  const { result } = await changeAccount(command, action, work, ({ domain: { accountId, id } }) => ({
    accountId,
    resourceId: id,
  }));
  return result;
}

async function warmUp(
  name: string,
  action: 'on' | 'off' | 'show',
  _options: object,
  command: CarillonCommand,
): Promise<void> {
  const { endWarmUp, findVerifiedDomain, findWarmUp, startWarmUp } = await warmUps();
  const shown = async (db: Queryable, domainId: number, { WARM_UP_SCHEDULE: schedule }: Config) => ({
    warmUp: await findWarmUp(db, domainId),
    days: schedule.length,
  });
  const { warmUp: found, days } =
    action === 'show'
      ? await withDatabase(command, async ({ config, database: { pool } }) =>
          shown(pool, (await findVerifiedDomain(pool, name)).id, config),
        )
      : await changeDomain(command, name, `domain warmup ${action}`, async (trx, domainId, { config }) => {
          if (action === 'on') await startWarmUp(trx, domainId, config.WARM_UP_SCHEDULE);
          else await endWarmUp(trx, domainId);
          return shown(trx, domainId, config);
        });
  const fields: Field[] = found
    ? [
        ['domain', name],
        ['step', `${found.step} of ${days}`],
        ['emails today', `${found.usedToday} of ${found.dailyLimit}`],
        ['began', found.startedAt.toISOString()],
      ]
    : [
        ['domain', name],
        ['warm-up', 'off'],
      ];
  print(command, { domain: name, warmUp: found }, fieldLines(fields));
}

async function setPace(
  name: string,
  perMinute: number | null,
  _options: object,
  command: CarillonCommand,
): Promise<void> {
  const { setPace: set } = await warmUps();
  await changeDomain(command, name, 'domain pace', (trx, domainId) => set(trx, domainId, perMinute));
  const shown = perMinute === null ? 'default' : perMinute === 0 ? 'off' : perMinute;
  print(
    command,
    { domain: name, perMinute },
    fieldLines([
      ['domain', name],
      ['emails in a minute', shown],
    ]),
  );
}
