import { invalid } from '../../errors.ts';
import { requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import type { TemplateOwners } from '../templates/service.ts';
import { type CheckDeps, makePins, requireActivator } from './checks.ts';
import { contentBytes, CONTENTS_TOO_LARGE, findStepTemplates, MAX_CONTENT_BYTES } from './content.ts';
import { isLive, lockFlow } from './model.ts';
import { repinFlow } from './transitions.ts';

/** Pins a flow again when the template of one of its steps changes. */
export function createFlowTemplates(deps: CheckDeps): TemplateOwners {
  return {
    async changeOfFlow(trx, tenant, flowId, prepared, change) {
      // Lock the flow before the template, in the order in which changes of a flow lock them.
      const row = await lockFlow(trx, flowId);
      requireDraftOfTestKey(tenant, row?.status, 'contents of flows');
      const template = await change();
      if (!row || !template) return template;
      const templates = await findStepTemplates(trx, tenant, row.steps);
      const bytes = [...templates.values()].reduce((sum, each) => sum + contentBytes(each), 0);
      if (bytes > MAX_CONTENT_BYTES)
        throw invalid({ body: [`belongs to a flow, which ${CONTENTS_TOO_LARGE}`] });
      if (!isLive(row)) return template;
      const account = await requireActivator(trx, tenant);
      const pins = await makePins(trx, deps, tenant, row, prepared, {
        account,
        move: false,
      });
      await repinFlow(trx, row, pins);
      return template;
    },
  };
}
