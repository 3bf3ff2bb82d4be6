import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { systemSender } from '../src/delivery/terms/sender-identity.ts';
import { createPaymentService, createTopUpRun } from '../src/features/wallet/index.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import { createEgress } from '../src/platform/egress/client.ts';
import type { TopUpActivities } from '../workflows/topups/contract.ts';
import { attended } from './attended.ts';
import { presentTime } from './present-time.ts';

/** Short, so that the engine soon notices if a worker dies during a request. */
const options = { heartbeatMs: 3_000 };
/** The user agent of requests to payment services. */
const USER_AGENT = 'Carillon/1';

export interface TopUpActivityDependencies {
  config: Config;
  database: Database;
  resolver: Resolver;
  log: Logger;
}

/** The activities of the workflow `topup/<id>`. */
export function createTopUpActivities({
  config,
  database,
  resolver,
  log,
}: TopUpActivityDependencies): TopUpActivities {
  const egress = createEgress({ resolver, allow: config.EGRESS_ALLOW, userAgent: USER_AGENT });
  const payments = createPaymentService(config, egress);
  const run = createTopUpRun({ pool: database.pool, payments, from: systemSender(config), log });
  return {
    requestTopUp: (id, asOf) => attended(options, () => run.request(id, presentTime(asOf))),
    lookAtTopUp: (id, asOf, force) => attended(options, () => run.look(id, presentTime(asOf), force)),
    giveUpTopUp: (id) => run.giveUp(id),
  };
}
