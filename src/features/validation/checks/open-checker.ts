import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../../config.ts';
import type { Resolver } from '../../../platform/dns/resolver.ts';
import { createAddressPolicy } from '../../../platform/egress/addresses.ts';
import type { Egress } from '../../../platform/egress/client.ts';
import { createAddressChecker, type AddressChecker } from './address-checker.ts';
import { createDomainLookups } from './domain-lookups.ts';
import { createMailboxProbe } from './mailbox-probe.ts';
import { createOutsideValidator } from './outside-validator.ts';

interface Deps {
  config: Config;
  resolver: Resolver;
  egress: Egress;
}

/** Creates the checker of a worker process from its settings. */
export function openAddressChecker({ config, resolver, egress }: Deps): AddressChecker {
  const { isReachable } = createAddressPolicy(config.VALIDATION_PROBE_ALLOW);
  const now = () => performance.now();
  const lookups = createDomainLookups({ resolver, isReachable, now });
  const probe =
    config.VALIDATION_PROBE_NAME === undefined
      ? null
      : createMailboxProbe({
          clientName: config.VALIDATION_PROBE_NAME,
          perMinute: config.VALIDATION_PROBES_PER_MINUTE,
          isReachable,
          addressesOf: lookups.addressesOf,
          clock: { now, delay: (ms) => delay(ms) },
        });
  const outside =
    config.OUTSIDE_VALIDATOR_URL === undefined
      ? null
      : createOutsideValidator(config.OUTSIDE_VALIDATOR_URL, egress, now);
  return createAddressChecker({ lookups, probe, outside, now: Date.now });
}
