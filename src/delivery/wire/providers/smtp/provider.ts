import { z } from 'zod';
import { ConfigError } from '../../../../config.ts';
import { createSizeRecorder } from '../../../ledger/facts/provider-sizes.ts';
import { DEFAULT_PROVIDER } from '../../../terms/backlog.ts';
import { connectSmtp } from '../../smtp/client.ts';
import type { ProviderDeps, ProviderKind } from '../../adapters/kind.ts';
import { createSmtpProvider, smtpTargetFromUrl } from './hand-over.ts';

const settings = z.strictObject({
  url: z
    .url({ protocol: /^smtps?$/, error: 'must be a URL such as smtp://user:password@relay.example.com:587' })
    .describe('smtp:// or smtps://, with the parameters of EMAIL_PROVIDER_URL'),
  connections: z.coerce
    .number()
    .int()
    .min(1)
    .max(200)
    .optional()
    .describe('maximum number of connections of a sender process; default: SENDER_CONNECTIONS'),
});

type SmtpSettings = z.infer<typeof settings>;

const targetOf = ({ url }: SmtpSettings, { config }: ProviderDeps) =>
  smtpTargetFromUrl(new URL(url), config.MAIL_DOMAIN, 'url');

export const smtp: ProviderKind<SmtpSettings, 'email'> = {
  name: 'smtp',
  channel: 'email',
  title: 'SMTP',
  settings,
  secrets: ['url'],
  url: {
    schemes: ['smtp:', 'smtps:'],
    create: (url, { config, pool, resolver }) =>
      createSmtpProvider({
        target: smtpTargetFromUrl(url, config.MAIL_DOMAIN),
        connections: config.SENDER_CONNECTIONS,
        resolver,
        onSize: createSizeRecorder(pool, DEFAULT_PROVIDER),
      }),
  },
  repeatable: false,
  create: (given, deps) =>
    createSmtpProvider({
      target: targetOf(given, deps),
      connections: given.connections ?? deps.config.SENDER_CONNECTIONS,
      resolver: deps.resolver,
      onSize: createSizeRecorder(deps.pool, deps.id),
      ...(new URL(given.url).searchParams.get('dkim') === 'off' ? { signing: 'provider' } : {}),
    }),
  async check(given, deps) {
    try {
      const connection = await connectSmtp(targetOf(given, deps), { lookup: deps.resolver.lookup });
      await connection.quit();
      return null;
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      return `cannot connect and log in: ${(error as Error).message}`;
    }
  },
};
