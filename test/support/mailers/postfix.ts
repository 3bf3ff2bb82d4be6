import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { claimPort } from '../../../src/local/machine/ports.ts';
import { certificateAuthority, MAILER_KEY } from './mailers.ts';

const run = promisify(execFile);

export interface Smarthost {
  /** Takes mail without a login. */
  port: number;
  close(): Promise<void>;
}

const SERVICES = `
cleanup   unix  n - n - 0 cleanup
qmgr      unix  n - n 300 1 qmgr
tlsmgr    unix  - - n 1000? 1 tlsmgr
rewrite   unix  - - n - - trivial-rewrite
bounce    unix  - - n - 0 bounce
defer     unix  - - n - 0 bounce
trace     unix  - - n - 0 bounce
smtp      unix  - - n - - smtp
relay     unix  - - n - - smtp
error     unix  - - n - - error
retry     unix  - - n - - error
discard   unix  - - n - - discard
anvil     unix  - - n - 1 anvil
scache    unix  - - n - 1 scache
proxymap  unix  - - n - - proxymap
postlog   unix-dgram n - n - 1 postlogd
`;

/** Starts a Postfix that hands all mail to a port of localhost, as docs/send-from-any-program.md says. Needs root. */
export async function startPostfix(submissionPort: number): Promise<Smarthost> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-postfix-'));
  await chmod(folder, 0o755);
  const port = await claimPort(0, 'PORT');
  const relay = `[localhost]:${submissionPort}`;
  const settings = {
    compatibility_level: '3.6',
    queue_directory: join(folder, 'queue'),
    data_directory: join(folder, 'data'),
    maillog_file: join(folder, 'mail.log'),
    maillog_file_prefixes: folder,
    myhostname: 'app.example.com',
    mydestination: '',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    mynetworks: '127.0.0.0/8',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    alias_maps: '',
    relayhost: relay,
    smtp_host_lookup: 'native',
    smtp_sasl_auth_enable: 'yes',
    smtp_sasl_password_maps: `texthash:${join(folder, 'passwords')}`,
    smtp_sasl_tls_security_options: 'noanonymous',
    smtp_tls_security_level: 'secure',
    smtp_tls_CAfile: certificateAuthority,
  };
  const main = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  await mkdir(settings.queue_directory);
  await mkdir(settings.data_directory);
  await run('chown', ['postfix', settings.data_directory]);
  await writeFile(join(folder, 'main.cf'), main.join(''));
  await writeFile(
    join(folder, 'master.cf'),
    `127.0.0.1:${port} inet n - n - - smtpd\n${SERVICES.trimStart()}`,
  );
  await writeFile(join(folder, 'passwords'), `${relay} carillon:${MAILER_KEY}\n`, { mode: 0o600 });
  const postfix = (command: string) => run('/usr/sbin/postfix', ['-c', folder, command]);
  await postfix('start');
  return {
    port,
    async close() {
      await postfix('stop');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
