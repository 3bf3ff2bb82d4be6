/** Checks whether Amazon SES itself tracks opens and clicks. It does if a configuration set publishes these events. */
import type { Egress } from '../../../../platform/egress/client.ts';
import { requestSes, sesErrorCode, sesErrorMessage, type SesSettings } from './api.ts';

/** Maximum number of identities whose default configuration set is checked. */
const MAX_IDENTITIES = 100;
const DOMAIN_NAME = /^[a-z0-9.-]{1,255}$/i;

interface EventDestination {
  Enabled?: boolean;
  MatchingEventTypes?: string[];
  SnsDestination?: { TopicArn?: string };
}

/** @throws Error with the response of SES, for the operator */
export async function askSes(settings: SesSettings, egress: Egress, path: string): Promise<unknown> {
  const result = await requestSes(settings, egress, { method: 'GET', path });
  if (result.kind !== 'response') throw new Error(result.reason);
  if (result.status !== 200) {
    throw new Error(`${result.status} ${sesErrorCode(result)}: ${sesErrorMessage(result)}`);
  }
  return result.json;
}

/** The event destinations of a configuration set that are switched on. @throws Error */
export async function enabledDestinations(
  settings: SesSettings,
  egress: Egress,
  configurationSet: string,
): Promise<EventDestination[]> {
  const path = `/v2/email/configuration-sets/${encodeURIComponent(configurationSet)}/event-destinations`;
  const { EventDestinations: all = [] } = (await askSes(settings, egress, path)) as {
    EventDestinations?: EventDestination[];
  };
  return all.filter(({ Enabled }) => Enabled !== false);
}

/**
 * The configuration sets that apply to messages which name none: each identity may have one by default
 * (https://docs.aws.amazon.com/ses/latest/dg/managing-configuration-sets.html).
 */
async function defaultSets(settings: SesSettings, egress: Egress): Promise<Set<string>> {
  const { EmailIdentities: identities = [] } = (await askSes(
    settings,
    egress,
    `/v2/email/identities?PageSize=${MAX_IDENTITIES}`,
  )) as { EmailIdentities?: { IdentityName?: string; IdentityType?: string }[] };
  const sets = new Set<string>();
  for (const { IdentityName: name = '', IdentityType: type } of identities.slice(0, MAX_IDENTITIES)) {
    if (type === 'EMAIL_ADDRESS' || !DOMAIN_NAME.test(name)) continue;
    const identity = (await askSes(settings, egress, `/v2/email/identities/${name}`)) as {
      ConfigurationSetName?: string;
    };
    if (identity.ConfigurationSetName) sets.add(identity.ConfigurationSetName);
  }
  return sets;
}

/**
 * Finds a configuration set by which SES would rewrite the links of messages, or add a pixel to them.
 * @returns what the operator has to change; null if nothing
 * @throws Error if SES cannot be reached
 */
export async function sesTrackingProblem(settings: SesSettings, egress: Egress): Promise<string | null> {
  const named = settings.configuration_set;
  const sets = named === undefined ? await defaultSets(settings, egress) : [named];
  for (const set of sets) {
    const destinations = await enabledDestinations(settings, egress, set);
    const tracks = destinations.some(({ MatchingEventTypes: types }) =>
      types?.some((type) => type === 'OPEN' || type === 'CLICK'),
    );
    if (tracks)
      return `the configuration set ${set} tracks opens or clicks: remove Open and Click from its event destinations`;
  }
  return null;
}
