/**
 * Reports in the form that mail servers send: modelled on RFC 3464 (delivery status), RFC 5965 (feedback), and the
 * documented formats of qmail, Exim, Exchange and Sendmail. All lines end with CRLF.
 */
export interface ReportedMail {
  /** Without angle brackets. */
  messageId: string;
  returnPath: string;
  to: string;
}

const crlf = (text: string) => text.replaceAll(/\r?\n/g, '\r\n');

/** The header of the message that a report returns. */
function returned({ messageId, returnPath, to }: ReportedMail): string {
  return `Return-Path: <${returnPath}>
Received: from mail.test (mail.test [192.0.2.1]) by relay.example.net; Mon, 2 Mar 2026 10:00:00 +0000
From: Acme <hello@acme.example>
To: ${to}
Subject: Your order
Message-ID: <${messageId}>
Date: Mon, 2 Mar 2026 10:00:00 +0000
MIME-Version: 1.0
Content-Type: text/plain
`;
}

export interface StatusFields {
  action?: string;
  status?: string;
  diagnostic?: string;
  /** Further fields about the message. */
  perMessage?: string;
  /** Further recipients. */
  further?: string;
}

/** A delivery status notification (RFC 3464) like Postfix sends it. */
export function deliveryStatus(mail: ReportedMail, fields: StatusFields = {}): string {
  const { action = 'failed', status = '5.1.1', diagnostic = 'smtp; 550 5.1.1 User unknown' } = fields;
  return crlf(`From: MAILER-DAEMON@relay.example.net (Mail Delivery System)
To: ${mail.returnPath}
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
 boundary="4B1F.1772445600/relay.example.net"

This is a MIME-encapsulated message.

--4B1F.1772445600/relay.example.net
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

This is the mail system at host relay.example.net.

I'm sorry to have to inform you that your message could not
be delivered to one or more recipients. It's attached below.

--4B1F.1772445600/relay.example.net
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.example.net
X-Postfix-Queue-ID: 4B1F
Arrival-Date: Mon,  2 Mar 2026 10:00:00 +0000 (UTC)
${fields.perMessage ?? ''}
Final-Recipient: rfc822; ${mail.to}
Original-Recipient: rfc822;${mail.to}
Action: ${action}
Status: ${status}
Remote-MTA: dns; mx.example.com
Diagnostic-Code: ${diagnostic}
${fields.further === undefined ? '' : `\n${fields.further}`}
--4B1F.1772445600/relay.example.net
Content-Description: Undelivered Message Headers
Content-Type: text/rfc822-headers

${returned(mail)}
--4B1F.1772445600/relay.example.net--
`);
}

/** A feedback report (RFC 5965 §4) like Yahoo's loop sends it. */
export function feedbackReport(mail: ReportedMail, type = 'abuse'): string {
  return crlf(`From: Yahoo! Mail AntiSpam Feedback <feedback@arf.mail.yahoo.com>
To: fbl@mail.test
Subject: FW:Your order
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="arf"

--arf
Content-Type: text/plain; charset="US-ASCII"

This is an email abuse report for an email message from mail.test on Mon, 2 Mar 2026 11:00:00 +0000

--arf
Content-Type: message/feedback-report

Feedback-Type: ${type}
User-Agent: Yahoo!-Mail-Feedback/2.0
Version: 0.1
Original-Mail-From: <${mail.returnPath}>
Original-Rcpt-To: redacted@yahoo.com
Received-Date: Mon, 2 Mar 2026 10:00:01 +0000
Reported-Domain: acme.example
Source-IP: 192.0.2.1

--arf
Content-Type: message/rfc822
Content-Disposition: inline

${returned(mail)}
Your order is on its way.

--arf--
`);
}

/** A junk mail report of Outlook.com: the message, attached to an empty mail. */
export function attachedComplaint(mail: ReportedMail): string {
  return crlf(`From: staff@hotmail.com
To: fbl@mail.test
Subject: complaint about message from 192.0.2.1
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="jmrp"

--jmrp
Content-Type: message/rfc822
Content-Disposition: attachment

X-HmXmrOriginalRecipient: someone@hotmail.com
${returned(mail)}
Your order is on its way.
--jmrp--
`);
}

function plain(subject: string, text: string, header = ''): string {
  return crlf(`From: MAILER-DAEMON@mx.example.com
To: bounce@mail.test
Subject: ${subject}
${header}
${text}`);
}

/** QSBMF: https://cr.yp.to/proto/qsbmf.txt */
export function qmailBounce(mail: ReportedMail, reason: string): string {
  const text = `Hi. This is the qmail-send program at mx.example.com.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<${mail.to}>:
${reason}

--- Below this line is a copy of the message.

${returned(mail)}
x`;
  return plain('failure notice', text);
}

/** Exim's format before it used multipart/report. */
export function eximBounce(mail: ReportedMail, reason: string): string {
  const text = `This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  ${mail.to}
    ${reason}

------ This is a copy of the message, including all the headers. ------

${returned(mail)}
x`;
  const header = `X-Failed-Recipients: ${mail.to}\nAuto-Submitted: auto-replied\n`;
  return plain('Mail delivery failed: returning message to sender', text, header);
}

export function exchangeBounce(mail: ReportedMail, reason: string): string {
  const text = `Your message did not reach some or all of the intended recipients.

      Subject:	Your order
      Sent:	3/2/2026 10:00 AM

The following recipient(s) could not be reached:

      ${mail.to} on 3/2/2026 10:01 AM
            ${reason}
`;
  return plain('Undeliverable: Your order', text);
}

export function sendmailBounce(mail: ReportedMail, reply: string): string {
  const text = `The original message was received at Mon, 2 Mar 2026 10:00:00 GMT
from mail.test [192.0.2.1]

   ----- The following addresses had permanent fatal errors -----
<${mail.to}>

   ----- Transcript of session follows -----
... while talking to mx.example.com.:
>>> RCPT To:<${mail.to}>
<<< ${reply}
550 <${mail.to}>... User unknown

   ----- Original message follows -----
${returned(mail)}`;
  return plain('Returned mail: User unknown', text);
}

/** A bounce of which only the text says so, in the words of the program that sent it. */
export function textBounce(mail: ReportedMail, text: string, header = ''): string {
  return plain('Delivery failed', text.replaceAll('{to}', mail.to), header);
}

/** An automatic reply. */
export function autoReply(header: string, text = 'I am out of the office until Monday.'): string {
  return crlf(`From: ann@example.com
To: bounce@mail.test
Subject: Automatic reply: Your order
${header}
${text}
`);
}

/** A receipt that says a person has opened the message (RFC 8098), which no one has asked for. */
export const readReceipt = crlf(`From: ann@example.com
To: bounce@mail.test
Subject: Read: Your order
MIME-Version: 1.0
Content-Type: multipart/report; report-type=disposition-notification; boundary="mdn"

--mdn
Content-Type: text/plain

Your message was read.
--mdn
Content-Type: message/disposition-notification

Final-Recipient: rfc822; ann@example.com
Disposition: manual-action/MDN-sent-manually; displayed
--mdn--
`);
