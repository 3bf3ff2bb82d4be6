import type { Schemas } from '../../api/client.ts';
import { DetailList, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { SentFiles } from '../../ui/sent-files.tsx';
import { Attachments, Original } from './attachments.tsx';
import { textOfHtml } from './mail-text.ts';

export type Mail = Schemas['ConversationMessage'];

/** One message of a conversation, or one in quarantine. What strangers wrote is shown as text only. */
export function MailView({ mail }: { mail: Mail }) {
  const { direction, from, status, message_id: messageId, authentication, received_at: at } = mail;
  return (
    <article className={`mail ${direction}`}>
      <header>
        <h3>{from}</h3>
        <span className="actions">
          {mail.auto_submitted && <StatusBadge status="automatic" />}
          {authentication?.aligned === false && <StatusBadge status="sender not verified" tone="warn" />}
          {status !== null &&
            (messageId === null ? (
              <StatusBadge status={status} />
            ) : (
              <BrandLink to={`/messages/${messageId}`}>
                <StatusBadge status={status} />
              </BrandLink>
            ))}
          <Time at={at} full />
        </span>
      </header>
      <p className="muted">
        To {mail.to.join(', ')}
        {mail.cc.length > 0 && `, copy to ${mail.cc.join(', ')}`}
        {mail.reply_to !== null && `, replies to ${mail.reply_to}`}
        {mail.date !== null && (
          <>
            , written <Time at={mail.date} full />
          </>
        )}
      </p>
      <MailText mail={mail} />
      {mail.last_repeated_at !== null && (
        <p className="hint">
          This mail was received again {mail.repeated_count === 1 ? 'once' : `${mail.repeated_count} times`},
          last <Time at={mail.last_repeated_at} />.
        </p>
      )}
      <Attachments mail={mail} />
      {mail.files && <SentFiles messageId={messageId} files={mail.files} />}
      <Original mail={mail} />
      {authentication !== null && <Authentication found={authentication} />}
    </article>
  );
}

function MailText({ mail: { text, html, truncated } }: { mail: Mail }) {
  const shown = text ?? (html === null ? null : textOfHtml(html));
  if (shown === null) return <p className="muted">This message has no text that can be shown.</p>;
  return (
    <>
      <div className="mail-text">{shown}</div>
      {text === null && <p className="hint">This mail has only HTML. It is shown as text.</p>}
      {truncated && <p className="hint">The end of this mail is cut off.</p>}
    </>
  );
}

/** Whether the mail really comes from the domain in its From field. */
function Authentication({ found }: { found: NonNullable<Mail['authentication']> }) {
  return (
    <details>
      <summary>Authentication</summary>
      <DetailList
        items={[
          ['Sender', found.aligned ? 'verified by its domain' : 'not verified: anyone could have sent it'],
          ['SPF', found.spf.result],
          ['DKIM', found.dkim.result],
          ['DMARC', found.dmarc.result],
          ['ARC', found.arc.result],
        ]}
      />
    </details>
  );
}
