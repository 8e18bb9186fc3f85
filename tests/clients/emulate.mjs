// The npm package `emulate` as a second opinion: its GitHub on this machine alone, until the input ends.
// Standard input: its seed as JSON on the first line. Standard output: its address as JSON.

import net from "node:net";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

// It would listen to everybody, at a port that it must be told.
const listening = [];
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function () {
  listening.push(this);
  return listen.call(this, 0, "127.0.0.1");
};

const { createEmulator } = await import(pathToFileURL(`${process.env.MODULES}/emulate/dist/api.js`));
const lines = createInterface({ input: process.stdin });
const seed = JSON.parse(await new Promise((resolve) => lines.once("line", resolve)));
await createEmulator({ service: "github", port: 4001, baseUrl: "http://127.0.0.1", seed });
const [server] = listening;
const told = () => console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
if (server.listening) told();
else server.once("listening", told);
lines.once("close", () => process.exit(0));
