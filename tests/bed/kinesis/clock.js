// Lets a test move the clock of kinesis-local: loaded before it (`node -r ./clock.js .../main.js`).
// The file that CLOCK_FILE names holds a whole number of milliseconds; it is added to every time that the
// program asks for, within a tenth of a second of being written. No file, or nothing sensible in it: no offset.
// (A library preloaded into the process, as faketime does it, has no effect: the program takes the time from
// `performance`.)
'use strict';

const fs = require('fs');

const TENTH_OF_A_SECOND = 100;
let offset = 0;

function readOffset() {
  let text = '';
  try {
    text = fs.readFileSync(process.env.CLOCK_FILE, 'utf8');
  } catch {
    // Not written yet.
  }
  const value = Number(text);
  offset = Number.isFinite(value) ? value : 0;
}

readOffset();
setInterval(readOffset, TENTH_OF_A_SECOND).unref();

const SystemDate = Date;

class MovedDate extends SystemDate {
  constructor(...when) {
    if (when.length === 0) {
      super(MovedDate.now());
    } else {
      super(...when);
    }
  }

  static now() {
    return SystemDate.now() + offset;
  }
}

globalThis.Date = MovedDate;

const systemOrigin = performance.timeOrigin;
Object.defineProperty(performance, 'timeOrigin', { configurable: true, get: () => systemOrigin + offset });
