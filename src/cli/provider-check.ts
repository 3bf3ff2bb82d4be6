/** What the commands ask services before settings are stored, and to test them. */
import type { ProviderDeps, ProviderKind } from '../delivery/providers/kind.ts';
import type { ProviderSettings } from '../delivery/providers/named.ts';
import type { CommandContext } from './context.ts';
import { problem } from './provider-settings.ts';

/** Gives work what it needs to ask a service. */
export async function withProviderDeps<T>(
  { config, database }: CommandContext,
  work: (deps: ProviderDeps) => Promise<T>,
): Promise<T> {
  const [{ createResolver }, { createEgress }] = await Promise.all([
    import('../platform/dns/resolver.ts'),
    import('../platform/egress/client.ts'),
  ]);
  const resolver = createResolver(config.DNS_SERVERS);
  const egress = createEgress({ resolver, allow: config.EGRESS_ALLOW, userAgent: 'Carillon/1' });
  try {
    return await work({ config, pool: database.pool, resolver, egress });
  } finally {
    await egress.close();
  }
}

/**
 * Refuses a service that would itself track opens and clicks.
 * @returns what to tell the operator if the service could not be asked: that must not keep a provider from being added
 * @throws AppError validation_error if it tracks them
 */
export async function refuseTracking(
  context: CommandContext,
  name: string,
  kind: ProviderKind,
  given: ProviderSettings,
): Promise<string[]> {
  const settings = kind.settings.safeParse(given);
  // Those that are wrong are refused when they are stored.
  if (!kind.trackingProblem || !settings.success) return [];
  let wrong: string | null | undefined;
  try {
    wrong = await withProviderDeps(context, async (deps) => kind.trackingProblem?.(settings.data, deps));
  } catch (error) {
    const reason = (error as Error).message;
    return [
      `${kind.title} did not say whether it tracks opens and clicks itself (${reason}). Run carillon provider test ${name}.`,
    ];
  }
  if (wrong) throw problem(`${kind.title}: ${wrong}`);
  return [];
}
