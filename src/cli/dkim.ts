import type { CarillonCommand } from './command.ts';
import { print, requireKeyring, withDatabase } from './context.ts';

/** `carillon dkim show` */
export function addDkimCommands(program: CarillonCommand): void {
  const dkim = program.command('dkim').description('show the keys that sign mail');
  dkim
    .command('show')
    .description('show the DNS records to publish, so that receivers can verify the signatures')
    .option('--domain <name>', 'by default the setting MAIL_DOMAIN, whose keys are created if missing')
    .addHelpText(
      'after',
      '\nPublish a value longer than 255 characters as several strings in one record.\n\nExample:\n  $ MAIL_DOMAIN=mail.acme.com carillon dkim show',
    )
    .action(showDkimRecord);
}

async function showDkimRecord(options: { domain?: string }, command: CarillonCommand): Promise<void> {
  const { ensureSigningKeys, showRecords } = await import('../delivery/content/dkim/keys.ts');
  const records = await withDatabase(command, async (context) => {
    const { config, database } = context;
    const domain = options.domain ?? config.MAIL_DOMAIN;
    if (domain === config.MAIL_DOMAIN) {
      await ensureSigningKeys({ db: database.pool, keyring: requireKeyring(context) }, domain);
    }
    return showRecords(database.pool, domain);
  });
  const lines = records.map((record) => `${record.name}.  ${record.type}  "${record.value}"`);
  print(command, records, lines.length === 0 ? 'no keys for this domain' : lines.join('\n\n'));
}
