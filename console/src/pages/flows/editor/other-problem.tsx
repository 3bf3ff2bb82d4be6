import { BrandLink } from '../../../ui/links.tsx';
import { isInWords, type Problem } from './problems.ts';

/** A problem that is about no step, with the way to where it is mended. */
export const OtherProblem = ({ problem: { field, message } }: { problem: Problem }) => (
  <>
    {!isInWords(field) && <span className="muted">{field}: </span>}
    {message} {field.startsWith('brand.') && <BrandLink to="/brand">Open the brand</BrandLink>}
  </>
);
