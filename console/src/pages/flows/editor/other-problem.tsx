import { BrandLink } from '../../../ui/links.tsx';
import { isInWords, type Problem } from './problems.ts';

/** A problem that is about no step, with a link to the page where it can be corrected. */
export const OtherProblem = ({ problem: { field, message } }: { problem: Problem }) => (
  <>
    {!isInWords(field) && <span className="muted">{field}: </span>}
    {message} {field.startsWith('brand.') && <BrandLink to="/brand">Open the brand</BrandLink>}
  </>
);
