import { z } from 'zod';
import { jsonWithoutLiquid } from '../../../delivery/terms/texts/no-liquid.ts';
import { changeContactData, dataProblem } from '../../contacts/service.ts';
import { presentedFields, stepShape } from './shapes.ts';
import { actAndGoOn, type StepType } from './step.ts';

export interface UpdateContactStep {
  type: 'update_contact';
  id: number;
  /** Null removes a key. */
  data: Readonly<Record<string, unknown>>;
}

/** Merges fields into the data of the contact. */
export const updateContact: StepType<UpdateContactStep> = {
  type: 'update_contact',
  shape: stepShape('update_contact', {
    data: jsonWithoutLiquid(
      z.record(z.string(), z.unknown()).superRefine((data, context) => {
        const message = Object.keys(data).length === 0 ? 'must not be empty' : dataProblem(data);
        if (message !== null) context.addIssue({ code: 'custom', message });
      }),
      'update_contact steps',
    ),
  }),
  presented: { data: presentedFields.jsonObject },
  run: actAndGoOn,
  alone: true,
  async act({ data }, { trx, run, asOf }) {
    if (run.test) return { outcome: 'skipped', detail: { reason: 'test' } };
    const contact = { brandId: run.brand_id, contactId: run.contact_id, at: asOf };
    const changed = await changeContactData(trx, contact, data);
    if (changed === 'changed') return { outcome: 'done' };
    if (changed === 'gone') return { outcome: 'skipped', detail: { reason: 'contact_deleted' } };
    return { outcome: 'refused', detail: { reason: 'invalid_data', message: `data ${changed.problem}` } };
  },
  simulate({ data }, { changes }) {
    Object.assign(changes.data, data);
    return { outcome: 'done' };
  },
};
