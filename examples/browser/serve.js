// usage: node serve.js FOLDER [PORT]
// Offers the files of FOLDER to this machine's browsers, and says where.
'use strict';
const fs = require('fs'), http = require('http'), path = require('path');

const types = {
  '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.mjs': 'text/javascript',
  '.wasm': 'application/wasm', '.csv': 'text/csv',
};

exports.serve = (folder, port) => new Promise((resolve, reject) => {
  const server = http.createServer((request, response) => {
    let pathname;
    try {
      ({ pathname } = new URL(request.url, 'http://localhost'));
    } catch {
      response.writeHead(400, { 'Content-Type': 'text/plain' });
      response.end('this is no address');
      return;
    }
    const file = path.join(folder, path.normalize(pathname === '/' ? 'index.html' : pathname));
    fs.readFile(file, (error, bytes) => {
      const type = types[path.extname(file)] ?? 'application/octet-stream';
      response.writeHead(error ? 404 : 200, { 'Content-Type': error ? 'text/plain' : type, 'Cache-Control': 'no-cache' });
      response.end(error ? 'there is no such file' : bytes);
    });
  });
  server.on('error', reject);
  server.listen(port, '127.0.0.1', () => resolve(server));
});

if (require.main === module) {
  const [folder, port] = process.argv.slice(2);
  exports.serve(path.resolve(folder), Number(port ?? 8000)).then(
    server => console.log(`http://localhost:${server.address().port}/   (Ctrl-C ends it)`),
    error => {
      console.error(`port ${port}: ${error.message}; another port: examples/browser/run PORT`);
      process.exitCode = 1;
    });
}
