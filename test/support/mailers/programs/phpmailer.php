<?php
// Sends a mail of the given kind by PHPMailer.
require '/usr/share/php/libphp-phpmailer/src/Exception.php';
require '/usr/share/php/libphp-phpmailer/src/PHPMailer.php';
require '/usr/share/php/libphp-phpmailer/src/SMTP.php';
[, $port, $kind, $key, $content, $ca] = $argv;
$given = json_decode(file_get_contents("$content/message.json"), true);
$mail = new PHPMailer\PHPMailer\PHPMailer(true);
$mail->isSMTP();
$mail->Host = 'localhost';
$mail->Hostname = 'app.example.com';
$mail->Port = (int) $port;
$mail->SMTPAuth = true;
$mail->SMTPSecure = 'tls';
$mail->SMTPOptions = ['ssl' => ['cafile' => $ca]];
$mail->Username = 'carillon';
$mail->Password = $key;
$mail->CharSet = 'UTF-8';
$mail->setFrom($given['from']['address'], $given['from']['name']);
foreach ($given['to'] as $to) $mail->addAddress($to['address'], $to['name']);
foreach ($given['cc'] as $cc) $mail->addCC($cc['address'], $cc['name']);
$mail->addBCC($given['bcc']);
$mail->Subject = $given['subject'];
$mail->Body = $given['text'];
if ($kind === 'image') {
    $mail->isHTML(true);
    $mail->Body = $given['html'];
    $mail->AltBody = $given['text'];
    $mail->addEmbeddedImage("$content/logo.png", 'logo@shop.example', 'logo.png');
}
if ($kind === 'pdf') $mail->addAttachment("$content/invoice.pdf", $given['pdfName']);
if ($kind === 'invitation') {
    $mail->isHTML(true);
    $mail->Body = '<p>Beratung</p>';
    $mail->AltBody = $given['text'];
    $mail->Ical = file_get_contents("$content/invitation.ics");
}
$mail->send();
