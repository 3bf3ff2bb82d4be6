import type { Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { Time } from '../../ui/facts.tsx';
import { BrandLink } from '../../ui/links.tsx';
import type { ListSearch } from '../../ui/list-search.ts';
import { Notice } from '../../ui/notice.tsx';
import { answerOf, codeOf, reasonOf, toneOf } from './reasons.ts';

/** Why a message waits or did not arrive, what to do, and the answer of the mail server in its own words. */
export function ReasonNotice({ message }: { message: Schemas['Message'] }) {
  const { manages } = useBrand();
  const reason = reasonOf(message);
  if (!reason) return null;
  const code = codeOf(message);
  const answer = answerOf(message);
  const until = message.hold?.until;
  const page = reason.page && (manages || reason.page.managersOnly !== true) ? reason.page : null;
  return (
    <Notice tone={toneOf(message)} title={reason.title}>
      <p>{reason.text}</p>
      {reason.advice !== null && (
        <p>
          <strong>What to do:</strong> {reason.advice}
        </p>
      )}
      {until && (
        <p>
          It is expected to leave <Time at={until} />.
        </p>
      )}
      {answer !== null && (
        <p>
          Answer: <code>{answer}</code>
        </p>
      )}
      {code !== null && (
        <p className="muted">
          Code: <code>{code}</code>
        </p>
      )}
      {page && (
        <BrandLink to={page.to} search={searchOf(page.to, message)} className="button">
          {page.text}
        </BrandLink>
      )}
    </Notice>
  );
}

/** The list of suppressions opens with the one of the recipient. */
function searchOf(to: string, { channel, to: address }: Schemas['Message']): ListSearch {
  if (to !== '/suppressions' || address === null) return {};
  return channel === 'sms' ? { phone: address } : { email: address };
}
