import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

export const secondFactorUpkeep: Upkeep = {
  sealed: [{ table: 'second_factors', column: 'secret_sealed', row: 'user_id' }],
};
