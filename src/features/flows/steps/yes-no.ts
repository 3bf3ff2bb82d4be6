/** The branches of steps that choose between two: the fields `yes` and `no`. */
import type { Step } from './index.ts';
import type { Branches } from './step.ts';

export interface YesNo {
  yes: readonly Step[];
  no: readonly Step[];
}

export const yesNo: Branches = {
  fields: (branch) => ({ yes: branch, no: branch }),
  presented: (steps) => ({ yes: steps(), no: steps() }),
  map({ yes, no }: { yes?: unknown; no?: unknown }, change) {
    return { yes: change(yes, 'yes'), no: change(no, 'no') };
  },
};
