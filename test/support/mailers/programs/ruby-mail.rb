# Sends a mail of the given kind by Ruby Mail.
require 'mail'
require 'json'
port, kind, key, content, ca = ARGV
given = JSON.parse(File.read("#{content}/message.json"))
named = lambda do |each|
  address = Mail::Address.new(each['address'])
  address.display_name = each['name']
  address.format
end
mail = Mail.new(charset: 'UTF-8')
mail.from = named.call(given['from'])
mail.to = given['to'].map(&named)
mail.cc = given['cc'].map(&named)
mail.bcc = given['bcc']
mail.subject = given['subject']
case kind
when 'text'
  mail.body = given['text']
when 'image'
  mail.attachments.inline['logo.png'] = File.binread("#{content}/logo.png")
  source = "cid:#{mail.attachments['logo.png'].cid}"
  mail.text_part = Mail::Part.new { content_type 'text/plain; charset=UTF-8'; body given['text'] }
  mail.html_part = Mail::Part.new do
    content_type 'text/html; charset=UTF-8'
    body given['html'].sub('cid:logo@shop.example', source)
  end
when 'pdf'
  mail.attachments[given['pdfName']] = { mime_type: 'application/pdf', content: File.binread("#{content}/invoice.pdf") }
  mail.text_part = Mail::Part.new { content_type 'text/plain; charset=UTF-8'; body given['text'] }
when 'invitation'
  mail.text_part = Mail::Part.new { content_type 'text/plain; charset=UTF-8'; body given['text'] }
  mail.add_part(Mail::Part.new do
    content_type 'text/calendar; charset=UTF-8; method=REQUEST'
    body File.read("#{content}/invitation.ics")
  end)
  mail.content_type = "multipart/alternative; boundary=#{mail.boundary}"
end
mail.delivery_method :smtp, address: 'localhost', port: port.to_i, domain: 'app.example.com', user_name: 'carillon',
                            password: key, authentication: 'plain', enable_starttls: true, ca_file: ca
mail.deliver!
