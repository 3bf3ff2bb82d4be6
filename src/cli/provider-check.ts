/** Requests to a service that test its settings, also before they are stored. */
import type { ProviderDeps, ProviderKind } from '../delivery/wire/adapters/kind.ts';
import type { ProviderSettings } from '../delivery/wire/providers/named.ts';
import type { CommandContext } from './context.ts';
import { problem } from './provider-settings.ts';

/** Runs `work` with what requests to a service need. */
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
 * @returns a warning for the operator if the service could not be reached, which must not keep a provider from being
 *   added
 * @throws AppError validation_error if it tracks them
 */
export async function refuseTracking(
  context: CommandContext,
  name: string,
  kind: ProviderKind,
  given: ProviderSettings,
): Promise<string[]> {
  const settings = kind.settings.safeParse(given);
  // Invalid settings are refused when they are stored.
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
