// The playhead.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { frameRate, Player, SPEEDS } from "../../src/map/playback/player.ts";
import { close } from "../helpers.js";

describe("player", () => {
  const here = () => true;

  it("plays at a pace that shows a whole run in about eleven seconds, short ones slower, long ones not in a blur", () => {
    assert.equal(frameRate(55), 5);
    assert.equal(frameRate(3), 1.6);
    assert.equal(frameRate(1000), 6);
  });

  it("moves by time and speed, and stands still on the last frame of a closed run", () => {
    const player = new Player();
    player.play(56);
    player.advance(0.5, 56, here, false);
    const at = player.position;
    assert.ok(at > 0 && at === 0.5 * frameRate(56));
    player.cycleSpeed();
    player.advance(0.5, 56, here, false);
    close([player.position], [at * 3]);
    player.advance(1e3, 56, here, false);
    assert.deepEqual([player.position, player.playing, player.following], [55, false, false]);
  });

  it("takes up the live run when it has caught up with it", () => {
    const player = new Player();
    player.position = 3;
    player.play(6);
    player.advance(100, 6, here, true);
    assert.deepEqual([player.position, player.playing, player.following], [5, false, true]);
  });

  it("waits at a frame that has not arrived, then goes on", () => {
    const player = new Player();
    player.play(20);
    player.advance(100, 20, (i) => i < 4, false);
    assert.deepEqual([player.position, player.playing], [3, true]);
    player.advance(0.1, 20, here, false);
    assert.ok(player.position > 3);
  });

  it("pauses on a frame, never between two", () => {
    const player = new Player();
    player.play(20);
    player.advance(0.3, 20, here, false);
    const next = Math.ceil(player.position);
    player.pause();
    player.advance(5, 20, here, false);
    assert.deepEqual([player.position, player.playing], [next, false]);
  });

  it("starts over when played from the end, and does not play a single frame", () => {
    const player = new Player();
    player.position = 9;
    assert.equal(player.play(10), true);
    assert.equal(player.position, 0);
    assert.equal(new Player().play(1), false);
    assert.equal(new Player().playing, false);
  });

  it("follows an open run again when sought to its end, and only then", () => {
    const player = new Player();
    player.seek(3, 10, true);
    assert.equal(player.following, false);
    player.seek(Infinity, 10, true);
    assert.deepEqual([player.position, player.following], [9, true]);
    player.seek(-4, 10, false);
    assert.deepEqual([player.position, player.following], [0, false]);
  });

  it("goes round its speeds", () => {
    const player = new Player();
    const seen = SPEEDS.map(() => (player.cycleSpeed(), player.speed));
    assert.deepEqual([...seen].sort(), [...SPEEDS].sort());
  });
});
