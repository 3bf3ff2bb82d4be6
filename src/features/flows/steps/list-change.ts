/** The steps that add the contact to a list or remove it. */
import { z } from 'zod';
import { MAX_ID } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { existingListIds } from '../../lists/service.ts';
import { chainEntries } from '../entry/entries.ts';
import { stepShape } from './shapes.ts';
import { actAndGoOn, type StoredStep, type StepType } from './step.ts';

export interface ListStep<Type extends string> extends StoredStep {
  type: Type;
  list_id: number;
}

interface ListChange<Type extends string> {
  type: Type;
  /** Whether the contact is in the list afterwards. */
  isIn: boolean;
  /** @returns the changed members */
  change(trx: Queryable, contactId: number, listId: number): Promise<readonly unknown[]>;
}

export function listChange<Type extends string>(of: ListChange<Type>): StepType<ListStep<Type>> {
  return {
    type: of.type,
    shape: stepShape(of.type, { list_id: z.int().min(1).max(MAX_ID) }),
    references: (step) => ({ listId: step.list_id }),
    presented: { list_id: z.int() },
    run: actAndGoOn,
    alone: true,
    async act(step, { trx, run }) {
      if (run.test) return { outcome: 'skipped', detail: { reason: 'test' } };
      const [listId] = await existingListIds(trx, { brandId: run.brand_id }, [step.list_id]);
      if (listId === undefined) return { outcome: 'skipped', detail: { reason: 'list_deleted' } };
      await chainEntries(trx, run.chain_depth + 1);
      const changed = await of.change(trx, run.contact_id, listId);
      return { outcome: 'done', detail: { changed: changed.length > 0 } };
    },
    simulate(step, { changes }) {
      changes.lists.set(step.list_id, of.isIn);
      return { outcome: 'done' };
    },
  };
}
