-- SPDX-License-Identifier: MIT
-- heavy does twice light's work, 51 calls of deep below.
module Main where -- exports all: what is not exported has no symbol
import Data.Bits
import Data.List (foldl')
spin, heavy, light :: Int -> Int
spin n = go 1 0 where go x i = if i == n then x else go ((x * 1103515245 + i) .&. 0x3fffffff) (i + 1)
{-# NOINLINE spin #-}
heavy n = spin (2 * n) `shiftR` 1
{-# NOINLINE heavy #-}
light n = spin n `shiftR` 2
{-# NOINLINE light #-}
deep :: Int -> Int -> Int
deep d n = if d > 0 then deep (d - 1) n + 1 else heavy n `xor` light n
{-# NOINLINE deep #-}
main :: IO ()
main = print (foldl' (\sum i -> sum + deep 50 (210000 + i `mod` 97 * 2100)) 0 [1 .. 1000])
