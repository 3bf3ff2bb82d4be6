<?php
// Sends a mail of the given kind by Symfony Mailer.
require '/usr/share/php/Symfony/Component/Mailer/autoload.php';
use Symfony\Component\Mailer\Mailer;
use Symfony\Component\Mailer\Transport\Smtp\EsmtpTransport;
use Symfony\Component\Mime\Address;
use Symfony\Component\Mime\Email;
[, $port, $kind, $key, $content, $ca] = $argv;
$given = json_decode(file_get_contents("$content/message.json"), true);
$transport = new EsmtpTransport('localhost', (int) $port, false);
$transport->setUsername('carillon')->setPassword($key);
$transport->getStream()->setStreamOptions(['ssl' => ['cafile' => $ca]]);
$named = fn ($each) => new Address($each['address'], $each['name']);
$mail = (new Email())
    ->from($named($given['from']))
    ->to(...array_map($named, $given['to']))
    ->cc(...array_map($named, $given['cc']))
    ->bcc($given['bcc'])
    ->subject($given['subject'])
    ->text($given['text']);
if ($kind === 'image') $mail->html(str_replace('cid:logo@shop.example', 'cid:logo', $given['html']))->embedFromPath("$content/logo.png", 'logo', 'image/png');
if ($kind === 'pdf') $mail->attachFromPath("$content/invoice.pdf", $given['pdfName'], 'application/pdf');
if ($kind === 'invitation') $mail->attach(file_get_contents("$content/invitation.ics"), 'invitation.ics', 'text/calendar');
(new Mailer($transport))->send($mail);
