import { Card, DetailList } from '../../ui/details.tsx';

const LOCAL: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** What to enter into a program that sends mail by SMTP. The operator may have chosen another host than that of this page. */
export function SmtpCard() {
  const { hostname } = globalThis.location;
  const isLocal = LOCAL.has(hostname);
  return (
    <Card title="Send from any program">
      <p>
        WordPress, GitLab, a shop or a printer sends through Carillon if you enter this as its mail server
        (SMTP). Its mails are listed under Messages.
      </p>
      <DetailList
        items={[
          ['Host', isLocal ? '127.0.0.1' : `${hostname}, unless your operator has named another`],
          ['Port', isLocal ? '2587' : '587 with STARTTLS, or 465 with TLS'],
          ['User', 'any text, such as carillon'],
          ['Password', 'an API key, best one that can only send'],
          ['Sender', 'an address of a verified domain'],
        ]}
      />
    </Card>
  );
}
